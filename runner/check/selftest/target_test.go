package selftest

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func tcp(host, port string) Target { return Target{Host: host, Port: port} }
func sock(path string) Target      { return Target{Socket: path} }

func TestParseTarget(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Target
	}{
		{"localhost:5432", []Target{tcp("localhost", "5432")}},
		{"10.0.0.1:1", []Target{tcp("10.0.0.1", "1")}},
		{"[::1]:5432", []Target{tcp("::1", "5432")}},
		{"[fe80::1%eth0]:5432", []Target{tcp("fe80::1%eth0", "5432")}},
		{"/run/postgresql/.s.PGSQL.5432", []Target{sock("/run/postgresql/.s.PGSQL.5432")}},
		{"/run//x/../.s", []Target{sock("/run/.s")}},
		{"@abstract", []Target{sock("@abstract")}},
		{"@a/../b", []Target{sock("@a/../b")}},
		{"http://h", []Target{tcp("h", "80")}},
		{"https://u:p@h/x?y=z", []Target{tcp("h", "443")}},
		{"https://[::1]:8443/", []Target{tcp("::1", "8443")}},
		{"tcp://h:6432", []Target{tcp("h", "6432")}},

		{"postgres://h", []Target{tcp("h", "5432")}},
		{"postgresql://h/db", []Target{tcp("h", "5432")}},
		{"postgres://u:pw@h:6432/db?sslmode=require", []Target{tcp("h", "6432")}},
		{"postgres://u:p@w@h:6432/db", []Target{tcp("h", "6432")}},
		{"postgres://h1,h2:2,[::1]:3,[::2]/db", []Target{tcp("h1", "5432"), tcp("h2", "2"), tcp("::1", "3"), tcp("::2", "5432")}},
		{"postgres://h1,h2/db?port=7", []Target{tcp("h1", "7"), tcp("h2", "7")}},
		{"postgres://h1,h2/db?port=7,8", []Target{tcp("h1", "7"), tcp("h2", "8")}},
		{"postgres://u@/db?host=/run/postgresql", []Target{sock("/run/postgresql/.s.PGSQL.5432")}},
		{"postgres:///db?host=/run/postgresql&port=6432", []Target{sock("/run/postgresql/.s.PGSQL.6432")}},
		{"postgres://h/db?host=/run/a,b&port=1,2", []Target{sock("/run/a/.s.PGSQL.1"), tcp("b", "2")}},
		{"postgres://%2Frun%2Fpostgresql/db", []Target{sock("/run/postgresql/.s.PGSQL.5432")}},
		{"postgres://%2Frun%2Fa:6432,h/db", []Target{sock("/run/a/.s.PGSQL.6432"), tcp("h", "5432")}},
		{"postgres://u@%2Frun%2Fa", []Target{sock("/run/a/.s.PGSQL.5432")}},
		{"postgres://db.example/x?hostaddr=10.1.2.3", []Target{tcp("10.1.2.3", "5432")}},
		{"postgres:///db?host=%40name", []Target{sock("@name/.s.PGSQL.5432")}},
		{"postgres:///db", []Target{{Usual: true}}},
		{"postgres://", []Target{{Usual: true}}},
		{"postgres://:6432/db", []Target{{Usual: true, Port: "6432"}}},
	} {
		got, err := ParseTarget(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, %v; want %+v", c.text, got, err, c.want)
		}
	}
}

func TestParseTargetRefuses(t *testing.T) {
	for _, text := range []string{
		"", "localhost", ":5432", "localhost:", "localhost:0", "localhost:65536", "localhost:05", "localhost:postgres", "::1", "::1:5432",
		"/", "@", "/" + strings.Repeat("a", 107), "@" + strings.Repeat("a", 107), "/a\x00b", "relative/socket",
		"udp://h:53", "ftp://h:1", "://", "http://", "http://:80", "tcp://h", "http://h:0", "http://[::1", "http://x:secret",
		"postgres://h:secret/db", "postgres://h:0", "postgres://h1,h2/db?port=1,2,3", "postgres://h/db?port=secret",
		"postgres://%zz:secret@%zz/db", "postgres://h/db?host=%zzsecret", "postgres:///db?host=/" + strings.Repeat("a", 100), "postgres://h%00/db",
		"user:secret@h", "user:secret@h:x", "udp://user:secret@h?password=secret",
	} {
		got, err := ParseTarget(text)
		if err == nil {
			t.Errorf("%q gives %+v", text, got)
			continue
		}
		sentence := err.Error()
		if !strings.HasPrefix(sentence, "target ") || !strings.Contains(sentence, "; ") || strings.Contains(sentence, "secret") ||
			strings.Contains(sentence, "\n") || len(sentence) > 400 {
			t.Errorf("%q: %q", text, sentence)
		}
	}
}

// TestTargetCutBetweenCharacters: what an error repeats of a long target ends with a whole character.
func TestTargetCutBetweenCharacters(t *testing.T) {
	if _, err := ParseTarget("x" + strings.Repeat("é", 200)); err == nil || !strings.Contains(err.Error(), `é…"`) {
		t.Errorf("%v", err)
	}
}

// No error repeats a password.
func FuzzParseTarget(f *testing.F) {
	for _, text := range []string{
		"localhost:5432", "/run/x", "@x", "postgres://u:pw@h1:1,[::1]:2/db?host=/a&port=3", "http://h", "postgres://%2Frun", "postgres:///?host=,&port=,",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		targets, err := ParseTarget(text)
		if (err == nil) == (len(targets) == 0) {
			t.Fatalf("%q: %+v, %v", text, targets, err)
		}
		if err != nil && (strings.ContainsAny(err.Error(), "\n\x1b\x00") || !utf8.ValidString(err.Error())) {
			t.Errorf("%q: %q", text, err)
		}
		for _, target := range targets {
			checkTarget(t, text, target)
		}
		if err != nil {
			return
		}
		for _, withSecret := range []string{"postgres://u:hunter2@" + text, "postgres://h/?password=hunter2&" + text} {
			if targets, err := ParseTarget(withSecret); err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%q: %+v, %v", withSecret, targets, err)
			}
		}
	})
}

func checkTarget(t *testing.T, text string, target Target) {
	t.Helper()
	switch {
	case target.Usual:
		if target.Host != "" || target.Socket != "" || target.Port != "" && !isPort(target.Port) {
			t.Errorf("%q: %+v", text, target)
		}
	case target.Socket != "":
		if target.Host != "" || len(target.Socket) > maxSocket || !strings.ContainsRune("/@", rune(target.Socket[0])) {
			t.Errorf("%q: %+v", text, target)
		}
	default:
		if target.Host == "" || !isPort(target.Port) || strings.ContainsRune(target.Host, 0) {
			t.Errorf("%q: %+v", text, target)
		}
	}
}
