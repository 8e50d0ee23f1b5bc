package store

import (
	"database/sql"
	"time"
)

const retries = 3

type Store struct {
	db *sql.DB
}

func Open(path string) (*Store, error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &Store{db: db}, nil
}

func (s *Store) Ping() error {
	var err error
	for attempt := 0; attempt < retries; attempt++ {
		if err = s.db.Ping(); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

func (s *Store) Close() error {
	return s.db.Close()
}
