package batch

import "testing"

// A hostile message begins no command of its own.
func TestGitHubError(t *testing.T) {
	got := GitHubError("a:b,c\n::set-output", "100%\r\n::stop-commands::x")
	want := `::error title=a%3Ab%2Cc%0A%3A%3Aset-output::100%25%0D%0A::stop-commands::x`
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
