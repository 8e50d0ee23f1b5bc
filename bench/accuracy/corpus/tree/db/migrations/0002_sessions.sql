CREATE TABLE sessions (
  token char(64) PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users (id),
  expires bigint NOT NULL
);
