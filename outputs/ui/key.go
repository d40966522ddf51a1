package ui

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// key makes the proofs that a client was given a URL. It lives as long as the server, in memory only.
//
// A proof is the first part of a URL's path and no cookie: cookies go to every port of the loopback, and so to the servers
// of other users of this host.
type key [32]byte // 256 bits

func newKey() (k key) {
	_, _ = rand.Read(k[:]) // it never fails (crypto/rand)
	return k
}

// sign returns the proof for one purpose, useless for any other.
func (k key) sign(purpose ...string) string {
	mac := hmac.New(sha256.New, k[:])
	for _, word := range purpose { // each with its length: no two lists are the same bytes
		mac.Write([]byte(strconv.Itoa(len(word)) + ":" + word))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// proves reports whether given is the proof, in constant time.
func (k key) proves(given string, purpose ...string) bool {
	return hmac.Equal([]byte(given), []byte(k.sign(purpose...)))
}

// root is the path of the application: below it are all pages.
func (k key) root() string { return "/" + k.sign("pages") + "/" }

// ending is the purpose of a stop form.
func ending(run catalog.Key) []string { return []string{"stop", run.ID, strconv.Itoa(run.Attempt)} }

// split separates a URL's path into proof and page. Nothing is unescaped: neither has escapes.
func split(r *http.Request) (proof, page string) {
	proof, page, _ = strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	return proof, page
}
