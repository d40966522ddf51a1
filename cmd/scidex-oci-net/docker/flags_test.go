package docker

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	me := fmt.Sprintf("--user=%d:%d", os.Geteuid(), os.Getegid())
	line := []string{
		"-i", "--rm", "--read-only=true", "--net=none", me, "-m", "1.5g", "--cpus=2", "--env=A=b", "-ePATH", "-e", "NOT_SET_HERE", "--name", "n", "--workdir=/job/",
		"--mount=type=bind,source=/out,target=/job", "-v", "/in:/var/lib/cwl/in:ro", "--volume=/tmp/x:/tmp", "debian:12", "sh", "-c", "--rm",
	}
	c, err := parse(line)
	if err != nil {
		t.Fatal(err)
	}
	if c.id != "n" || c.workdir != "/job" || c.image != "debian:12" || !slices.Equal(c.command, []string{"sh", "-c", "--rm"}) || !c.noNetwork ||
		!slices.Equal(c.flags, []string{"--memory=1.5g", "--cpus=2", "--env=A=b", "--env=PATH"}) {
		t.Errorf("%+v", c)
	}
	l, err := c.sort()
	if err != nil || l.out == nil || l.out.source != "/out" || len(l.inputs) != 1 || l.inputs[0].target != "/var/lib/cwl/in" || len(l.into) != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                    "needs an image",
		"--privileged x":      "--privileged is not supported",
		"-it x":               "-t is not supported",
		"--gpus=all x":        "--gpus is not supported",
		"-d x":                "-d is not supported",
		"--network host x":    `takes none here, not "host"`,
		"--read-only=false x": "--read-only=false is not supported",
		"--user 4242 x":       "--user 4242 is not supported",
		"--memory lots x":     `"lots" is no size`,
		"-v /a:/b:ro:rw x":    "give SRC:DST", "-v /a:/b:ro,z x": "give SRC:DST",
		"-v name:/data x":                                      "must be absolute paths",
		"-v /a:/b:shared x":                                    "give SRC:DST",
		"--mount type=tmpfs x":                                 "type=tmpfs is not supported",
		"--mount type=bind,shape x":                            "--mount shape is not supported",
		"-w /job -v /a:/job -v /b:/c:rw x":                     `the bind to "/c" is to be written`,
		"-w /job -v /a:/job --mount type=bind,src=/b,dst=/c x": `the bind to "/c" is to be written`,
		"-v /a:/b -v /c:/d x":                                  `name it with --workdir`,
		"--workdir":                                            "needs a value",
	} {
		c, err := parse(strings.Fields(line))
		if err == nil {
			_, err = c.sort()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", line, err, want)
		}
	}
}

func TestVolumesWithoutMode(t *testing.T) {
	t.Parallel()
	c, err := parse(strings.Fields("--volume=/out:/job --volume=/in:1:/var/lib/cwl/in:1 --volume=/more:/job/more --workdir=/job x"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.sort()
	if err != nil || l.out == nil || l.out.target != "/job" || len(l.inputs) != 1 || l.inputs[0] != (bind{source: "/in:1", target: "/var/lib/cwl/in:1"}) || len(l.into) != 1 || l.into[0].target != "/job/more" {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	image := found{entrypoint: []string{"enter"}, command: []string{"default"}}
	for line, want := range map[string]string{
		"x": "enter default", "x a b": "enter a b", "--entrypoint e x a": "e a", "--entrypoint= x a": "a",
	} {
		c, err := parse(strings.Fields(line))
		if got := strings.Join(c.words(image), " "); err != nil || got != want {
			t.Errorf("%q: %q, %v, not %q", line, got, err, want)
		}
	}
}
