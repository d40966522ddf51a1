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

// key makes what proves that somebody was given an address. It lives as long as the server, and in its memory alone.
//
// What it makes is the first part of an address and stays there: a cookie would be sent to every port of the loopback, and
// so to the servers of other users of this host.
type key [32]byte // 256 bits

func newKey() (k key) {
	_, _ = rand.Read(k[:]) // it never fails (crypto/rand)
	return k
}

// sign is the proof for one purpose, which is of no use for another.
func (k key) sign(purpose ...string) string {
	mac := hmac.New(sha256.New, k[:])
	for _, word := range purpose { // each with its length, so that no two lists are the same bytes
		mac.Write([]byte(strconv.Itoa(len(word)) + ":" + word))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// proves reports whether given is the proof. The time that this takes does not tell how much of it is right.
func (k key) proves(given string, purpose ...string) bool {
	return hmac.Equal([]byte(given), []byte(k.sign(purpose...)))
}

// root is the path of the application: below it are all pages.
func (k key) root() string { return "/" + k.sign("pages") + "/" }

// ending is the form that stops a run.
func ending(run catalog.Key) []string { return []string{"stop", run.ID, strconv.Itoa(run.Attempt)} }

// split takes an address apart: its proof, and the page that it names. Nothing is unescaped: neither has anything to escape.
func split(r *http.Request) (proof, page string) {
	proof, page, _ = strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	return proof, page
}
