package access

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const secret = Key("0123456789abcdef0123")

// TestGuard: a request needs the key, and comes from this machine.
func TestGuard(t *testing.T) {
	const most = 100
	h := Guard(secret, most, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body) // of a recorder
	}))
	for name, test := range map[string]struct {
		host, origin, key string
		body              int
		want              int
	}{
		"right":             {"127.0.0.1:80", "", "Bearer " + string(secret), 100, 200},
		"another scheme":    {"localhost", "", "bearer " + string(secret), 1, 200},
		"IPv6":              {"[::1]:80", "http://[::1]:99", "Bearer " + string(secret), 1, 200},
		"local page":        {"localhost:80", "http://localhost:3000", "Bearer " + string(secret), 1, 200},
		"no key":            {"127.0.0.1", "", "", 1, 401},
		"wrong key":         {"127.0.0.1", "", "Bearer " + string(secret) + "x", 1, 401},
		"part of the key":   {"127.0.0.1", "", "Bearer " + string(secret[:10]), 1, 401},
		"no word":           {"127.0.0.1", "", "Bearer ", 1, 401},
		"basic":             {"127.0.0.1", "", "Basic " + string(secret), 1, 401},
		"foreign page":      {"127.0.0.1", "https://example.org", "Bearer " + string(secret), 1, 403},
		"no origin at all":  {"127.0.0.1", "null", "Bearer " + string(secret), 1, 403},
		"looks local":       {"127.0.0.1", "http://localhost.example.org", "Bearer " + string(secret), 1, 403},
		"rebound name":      {"example.org", "", "Bearer " + string(secret), 1, 403},
		"rebound, no key":   {"example.org:80", "", "", 1, 403},
		"address elsewhere": {"192.0.2.1", "", "Bearer " + string(secret), 1, 403},
		"large":             {"127.0.0.1", "", "Bearer " + string(secret), 101, 413},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", bytes.NewReader(make([]byte, test.body)))
		r.Host = test.host
		if test.origin != "" {
			r.Header.Set("Origin", test.origin)
		}
		if test.key != "" {
			r.Header.Set("Authorization", test.key)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != test.want || w.Code == 200 && w.Body.Len() != test.body || strings.Contains(w.Body.String(), string(secret)) {
			t.Errorf("%s: %d %q, want %d", name, w.Code, w.Body, test.want)
		}
		if (w.Code == 401) != (w.Header().Get("WWW-Authenticate") != "") {
			t.Errorf("%s: %v", name, w.Header())
		}
	}
}

// TestTwoKeys: a second header is no second try.
func TestTwoKeys(t *testing.T) {
	if secret.opens([]string{"Bearer x", "Bearer " + string(secret)}) || !secret.opens([]string{"Bearer " + string(secret)}) {
		t.Error("two headers are taken, or the right one is not")
	}
}

func TestLoopback(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:0": true, "127.9.9.9:1": true, "[::1]:8765": true, "localhost:1": true, "LOCALHOST:1": true,
		":8765": false, "0.0.0.0:1": false, "[::]:1": false, "192.0.2.1:1": false, "example.org:1": false, "127.0.0.1": false, "8765": false, "": false, "localhost.example.org:1": false,
	} {
		if got, err := Loopback(address); (err == nil) != ok || ok && got != address {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestReadKey: a file that others may use is refused, a missing one is made.
func TestReadKey(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	made, err := ReadKey(path("new"))
	if err != nil || len(made) < leastKey {
		t.Fatalf("%q, %v", made, err)
	}
	if info, err := os.Stat(path("new")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if again, err := ReadKey(path("new")); err != nil || again != made {
		t.Errorf("%q, %v, want %q", again, err, made)
	}
	if one, err := ReadKey(""); err != nil || one == made || len(one) < leastKey {
		t.Errorf("%q, %v", one, err)
	}
	for name, test := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"open":  {string(secret), 0o640, "chmod 600"},
		"world": {string(secret), 0o602, "chmod 600"},
		"short": {"secret", 0o600, "it holds no key"},
		"empty": {"", 0o600, "it holds no key"},
		"two":   {string(secret) + "\n" + string(secret), 0o600, "it holds no key"},
		"long":  {strings.Repeat("x", mostKey+1), 0o600, "it holds no key"},
	} {
		if err := os.WriteFile(path(name), []byte(test.text), test.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path(name), test.mode); err != nil {
			t.Fatal(err)
		}
		if key, err := ReadKey(path(name)); err == nil || key != "" || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), string(secret)) {
			t.Errorf("%s: %q, %v, want %s", name, key, err, test.want)
		}
	}
	if err := os.Symlink(path("new"), path("link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"link": "symbolic links", ".": "no regular file", "none/new": "does not exist; make it first"} {
		if _, err := ReadKey(path(name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
