package e2e

import (
	"os/exec"
	"testing"
)

// TestGitReadsInputs: git prints the version of a repository that another user owns, at any path of the run.
func TestGitReadsInputs(t *testing.T) {
	h := newHarness(t)
	for _, dir := range []string{"data", "docs", "project", "more"} {
		h.write(dir+"/file", dir, 0o644)
		for _, words := range [][]string{
			{"init", "-q"}, {"add", "file"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "one"}, {"tag", "of-" + dir},
		} {
			if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", h.path(dir)}, words...)...).CombinedOutput(); err != nil {
				t.Fatalf("git %q: %v\n%s", words, err, out)
			}
		}
	}
	h.write("project/version.sh", "for dir in /data /docs /analysis /inputs/more; do git -C $dir describe --tags; done; git config --system safe.directory", 0o644)
	r := h.start("--id", h.newID(), "--data", "data", "--docs", "docs", "--input", "more", "--project", "project", "--script", "project/version.sh")
	r.expect(t, "complete", "exit", 0)
	if got, want := h.stdoutOf(r), "of-data\nof-docs\nof-project\nof-more\n*\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
