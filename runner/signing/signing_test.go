package signing

import (
	"fmt"
	"io"
	"os"
	"testing"
)

// TestMain makes the test's own program the one that signs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Print("{\"key_id\":\"k\"}\nSTATEMENT")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestSignReturnsTheAnswer(t *testing.T) {
	k := Key{File: "x", Program: func() (*os.File, error) { return os.Open("/proc/self/exe") }}
	statement, id, err := k.Sign(t.Context(), []byte("{}"), nil)
	if string(statement) != "STATEMENT" || id != "k" || err != nil {
		t.Errorf("%q, %q, %v", statement, id, err)
	}
}
