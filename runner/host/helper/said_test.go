package helper

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestFailure(t *testing.T) {
	failed := errors.New("exit status 125")
	for said, want := range map[string]string{
		"":                               "exit status 125",
		"scidex-oci: it is no key\n":     "it is no key",
		"fatal error: out\n\nstacks\n":   "fatal error: out",
		"scidex-oci: \x1b[2Jred\x00\n":   `\x1b[2Jred\x00`,
		"open /no  such\\x1b: away":      `open /no  such\x1b: away`,
		strings.Repeat("long ", 100_000): strings.Repeat("long ", saidMax/5-1) + "long…",
	} {
		stderr := Stderr()
		if _, err := io.WriteString(stderr, said); err != nil {
			t.Fatal(err)
		}
		if got := Failure(failed, stderr).Error(); got != want {
			t.Errorf("%.40q: %.40q, want %.40q", said, got, want)
		}
		if err := Failure(nil, stderr); err != nil {
			t.Errorf("%.40q of a program that did not fail: %v", said, err)
		}
	}
}
