CREATE TABLE users (
  id serial PRIMARY KEY,
  email text NOT NULL UNIQUE,
  hash text NOT NULL,
  attempts integer NOT NULL DEFAULT 0
);

CREATE TABLE entries (
  id serial PRIMARY KEY,
  club integer NOT NULL,
  amount integer NOT NULL CHECK (amount <> 0),
  text varchar(200) NOT NULL
);
