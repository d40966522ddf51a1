package filter

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/scidex-ai/scidex-oci/spec"
)

// TestProfile: what is embedded was compiled from the profiles that analyses have now. compile/ tests the programs.
func TestProfile(t *testing.T) {
	for name, audit := range map[string]bool{"plain": false, "audited": true} {
		profile, err := spec.Filter(runtime.GOARCH, audit)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(profile)
		if err != nil {
			t.Fatal(err)
		}
		want := sha256.Sum256(text)
		got, err := programs.ReadFile("programs/" + name + "-" + runtime.GOARCH + ".profile")
		if err != nil || strings.TrimSpace(string(got)) != hex.EncodeToString(want[:]) {
			t.Errorf("%s: the profile has changed since scripts/build: %s (%v)", name, got, err)
		}
	}
}

// TestPrograms: with the audit it is another one, and whole.
func TestPrograms(t *testing.T) {
	plain, err := Program(false)
	if err != nil {
		t.Fatal(err)
	}
	audited, err := Program(true)
	if err != nil {
		t.Fatal(err)
	}
	if len(plain) == 0 || len(plain)%8 != 0 || len(audited)%8 != 0 || bytes.Equal(plain, audited) {
		t.Errorf("%d bytes, and with the audit %d", len(plain), len(audited))
	}
}

// TestBuiltWithout: of another architecture's program none is made.
func TestBuiltWithout(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"nothing":              {"programs/README": {}},
		"another architecture": {"programs/plain-vax.bpf": {Data: make([]byte, 8)}, "programs/audited-vax.bpf": {Data: make([]byte, 8)}},
	} {
		for _, audit := range []bool{false, true} {
			program, err := read(files, "", audit)
			if program != nil || err == nil || !strings.Contains(err.Error(), "build it with scripts/build") {
				t.Errorf("%s: %d bytes (%v)", name, len(program), err)
			}
		}
	}
}
