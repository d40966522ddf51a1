package unmapped

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const next = "the next program"

func TestMain(m *testing.M) {
	if os.Args[0] == next {
		_, err := unix.FcntlInt(3, unix.F_GETFD, 0)
		fmt.Println(os.Args, os.Environ(), err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestUnmapped(t *testing.T) {
	for name, c := range map[string]struct {
		word, told string
		want       string
	}{
		"told":          {"word", "x", `^\[the next program word\] \[\] <nil>\n$`},
		"traced":        {"trace=7", "x", `^\[the next program trace=[0-9]{3,}\] \[\] <nil>\n$`},
		"launcher gone": {"word", "", `^$`},
	} {
		t.Run(name, func(t *testing.T) {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			cmd := exec.Command("/proc/self/exe")
			cmd.Args = []string{Name, next, c.word}
			cmd.ExtraFiles, cmd.Stdout = []*os.File{read}, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			read.Close()
			_, told := write.WriteString(c.told)
			write.Close()
			if err := cmd.Wait(); err != nil || told != nil || !regexp.MustCompile(c.want).MatchString(out.String()) {
				t.Errorf("%q: %v, %v", out.String(), err, told)
			}
		})
	}
}
