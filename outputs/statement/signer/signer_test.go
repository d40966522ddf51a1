package signer

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/statement"
)

// testKeys are a private key and the files of both.
func testKeys(t *testing.T) (private ed25519.PrivateKey, path, public string) {
	t.Helper()
	private = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	path = filepath.Join(t.TempDir(), "key")
	public = path + ".pub"
	write(t, path, statement.PrivatePEM(private), 0o600)
	write(t, public, statement.PublicOf(private).PEM(), 0o644)
	return private, path, public
}

func write(t *testing.T, path string, content []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, content, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestFile(t *testing.T) {
	private, path, _ := testKeys(t)
	s, err := File(path).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sig, err := s.Sign(t.Context(), []byte("m"))
	if err != nil || !statement.PublicOf(private).Verifies([]byte("m"), sig) {
		t.Errorf("%v", err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o601, 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := File(path).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "others") {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}

func TestFileWithASecondName(t *testing.T) {
	_, path, _ := testKeys(t)
	second := filepath.Join(t.TempDir(), "second")
	if err := os.Link(path, second); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, second} {
		if _, err := File(name).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "2 names") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	if _, err := File(path).Open(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFileRefuses: no error shows what is in a file, which may be a key.
func TestFileRefuses(t *testing.T) {
	_, path, public := testKeys(t)
	dir := filepath.Dir(path)
	write(t, filepath.Join(dir, "large"), make([]byte, keyMax+1), 0o600)
	write(t, filepath.Join(dir, "text"), []byte("SECRET"), 0o600)
	write(t, public, []byte("SECRET"), 0o600)
	for name, want := range map[string]string{"large": "more than", "text": "has no block", ".": "no regular file", "gone": "no such file"} {
		_, err := File(filepath.Join(dir, name)).Open(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// signing returns a command that runs print in a shell, with SIG replaced by a file that has the signature of the trial message.
func signing(t *testing.T, private ed25519.PrivateKey, print string) Command {
	t.Helper()
	sig := ed25519.Sign(private, statement.PAE(trialType, nil))
	file := filepath.Join(t.TempDir(), "sig")
	write(t, file, sig, 0o600)
	write(t, file+".b64", []byte(base64.StdEncoding.EncodeToString(sig)+"\n"), 0o600)
	return Command{Words: []string{"sh", "-c", strings.ReplaceAll(print, "SIG", file)}}
}

func TestCommand(t *testing.T) {
	private, _, public := testKeys(t)
	for name, c := range map[string]struct{ print, want string }{
		"raw":                    {"cat >/dev/null; cat SIG", ""},
		"base64":                 {"cat SIG.b64", ""},
		"does not read":          {"exec 0<&-; cat SIG", ""},
		"gets the message":       {"[ \"$(cat)\" = 'DSSEv1 32 application/vnd.scidex-oci.trial 0 ' ] && cat SIG || echo bad", ""},
		"nothing":                {"true", "no Ed25519 signature"},
		"half":                   {"head -c 32 SIG", "no Ed25519 signature"},
		"too much":               {"cat SIG; head -c 10000 /dev/zero", "more than 4096 bytes"},
		"endless":                {"cat /dev/zero", "did not end within"},
		"fails with a signature": {"cat SIG; echo 'no card' >&2; exit 2", "exit status 2: no card"},
		"hangs":                  {"sleep 1000", "did not end within"},
		"leaves a child":         {"sleep 1000 & cat SIG", "WaitDelay"},
		"another":                {"head -c 64 /dev/zero", "does not sign by the public key"},
	} {
		t.Run(name, func(t *testing.T) {
			command := signing(t, private, c.print)
			command.PublicKey = public
			if c.want != "" {
				command.timeout = 2 * time.Second // only ends those that hang
			}
			s, err := command.Open(t.Context())
			if c.want == "" {
				if err != nil || s.Public().ID() != statement.PublicOf(private).ID() {
					t.Errorf("%v", err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	command := signing(t, private, "cat SIG")
	command.PublicKey = public + "x"
	if _, err := command.Open(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", public+"x")) && !strings.Contains(err.Error(), public+"x") {
		t.Errorf("no public key: %v", err)
	}
}
