// Receives webhooks: verifies the signature, does each message once, and answers.
//
//	usage: WEBHOOK_SECRET=whsec_… go run receiver.go [PORT]
//
// WEBHOOK_SECRET may hold several secrets with blanks between them, while one replaces another. It prints one line for
// each message that it does. Go's standard library is enough.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	tolerance   = 300 * time.Second
	longestBody = 1 << 20
	mostIDs     = 100_000
)

func keysOf(secrets string) (keys [][]byte) {
	for _, each := range strings.Fields(secrets) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(each, "whsec_"))
		if err != nil {
			log.Fatal("WEBHOOK_SECRET is not base64")
		}
		keys = append(keys, key)
	}
	return keys
}

// isGenuine tells whether one of the signatures is by one of the keys, and the timestamp is that of an attempt of now.
func isGenuine(keys [][]byte, id, timestamp string, body []byte, signatures string) bool {
	sent, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(sent, 0)).Abs() > tolerance {
		return false
	}
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.", id, timestamp)
		mac.Write(body)
		expected := mac.Sum(nil)
		for _, signature := range strings.SplitN(signatures, " ", 16) {
			encoded, isV1 := strings.CutPrefix(signature, "v1,")
			given, err := base64.StdEncoding.DecodeString(encoded)
			if isV1 && err == nil && hmac.Equal(given, expected) {
				return true
			}
		}
	}
	return false
}

// once has the ids of messages that were done. A real receiver stores the id with what the message does, in one
// transaction: then a crash between the two neither loses a message nor does it twice.
type once struct {
	lock  sync.Mutex
	done  map[string]bool
	order []string
}

func (o *once) do(id string, work func()) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.done[id] {
		return
	}
	work()
	o.done[id] = true
	if o.order = append(o.order, id); len(o.order) > mostIDs {
		delete(o.done, o.order[0])
		o.order = o.order[1:]
	}
}

func main() {
	keys, seen := keysOf(os.Getenv("WEBHOOK_SECRET")), &once{done: map[string]bool{}}
	port := "8000"
	if len(os.Args) > 1 {
		port = os.Args[1]
	}
	http.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		// The bytes as they came, before anything parses them.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longestBody))
		if err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		id := r.Header.Get("webhook-id")
		if !isGenuine(keys, id, r.Header.Get("webhook-timestamp"), body, r.Header.Get("webhook-signature")) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		seen.do(id, func() { fmt.Printf("done %s: %d bytes\n", id, len(body)) })
		w.WriteHeader(http.StatusNoContent)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on %d\n", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, nil))
}
