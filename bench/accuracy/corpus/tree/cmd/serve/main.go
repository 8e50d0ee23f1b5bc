package main

import (
	"flag"
	"log"
	"net/http"

	"example.org/tally/internal/store"
)

func main() {
	address := flag.String("address", ":8080", "where to listen")
	flag.Parse()
	db, err := store.Open("tally.db")
	if err != nil {
		log.Fatalf("open: %v", err)
	}
	defer db.Close()
	http.Handle("/health", health(db))
	log.Fatal(http.ListenAndServe(*address, nil))
}

func health(db *store.Store) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := db.Ping(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}
