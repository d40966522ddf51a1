package app

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
)

func TestArrange(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", "scidex-oci"},
		{"ls", "scidex-oci ls"},
		{"show a --json", "scidex-oci show --json -- a"},
		{"show --json a --root /r", "scidex-oci --root=/r show --json -- a"},
		{"--root /r ls", "scidex-oci --root=/r ls"},
		{"outputs export a out --overwrite", "scidex-oci outputs export --overwrite -- a out"},
		{"outputs cat a -- -name", "scidex-oci outputs cat -- a -name"},
		{"run --memory 2g --root=/r -- x --json", "scidex-oci --root=/r run --memory=2g -- x --json"},
		{"run x --root /r -- y", "scidex-oci run -- x --root /r -- y"},
		{"run --script s.py --memory 1g a --b", "scidex-oci run --script=s.py --memory=1g -- a --b"},
		{"run -f m.yaml -q", "scidex-oci run --file=m.yaml --quiet"},
		{"run -memory 2g x", "scidex-oci run --memory=2g -- x"},
		{"run --env A=b=c x", "scidex-oci run --env=A=b=c -- x"},
		{"run --env=-- x", "scidex-oci run --env=-- -- x"},
		{"run --env=--memory x", "scidex-oci run --env=--memory -- x"},
		{"run --json=false - x", "scidex-oci run --json=false -- - x"},
		{"run -- -- x", "scidex-oci run -- -- x"},
		{"run help", "scidex-oci run -- help"},
		{"run --help", "scidex-oci run --help"},
		{"help run", "scidex-oci run --help"},
		{"help", "scidex-oci --help"},
		{"outputs", "scidex-oci outputs"},
		{"outputs a --json", "scidex-oci outputs ls --json -- a"},
		{"outputs @last --root /r", "scidex-oci --root=/r outputs ls -- @last"},
		{"-v run x", "scidex-oci --version run -- x"},
		{"show -v a", "scidex-oci --version show -- a"},
		{"run x -v a", "scidex-oci run -- x -v a"},
		{"run --script s.py -- -v a", "scidex-oci run --script=s.py -- -v a"},
		{"crate a -o d --root /r", "scidex-oci --root=/r crate --out=d -- a"},
		{"crate a --out d", "scidex-oci crate --out=d -- a"},
		{"crate", "scidex-oci crate"},
		{"outputs cat a -- —name", "scidex-oci outputs cat -- a —name"},
		{"run x —y", "scidex-oci run -- x —y"},
	}
	for _, test := range tests {
		got, err := command.Arrange(newApp(wholeProgram()), strings.Fields(test.in))
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%q: %q, %v, want %q", test.in, got, err, test.want)
		}
	}
}

func TestArrangeRefuses(t *testing.T) {
	tests := map[string]string{
		"rnu x":                        `unknown command "rnu"; did you mean "run"?`,
		"init":                         `unknown command "init"; see "scidex-oci --help"`,
		"ps -a":                        `unknown command "ps"; type "scidex-oci ls"`,
		"list":                         `unknown command "list"; type "scidex-oci ls"`,
		"cp @last:a .":                 `unknown command "cp"; type "scidex-oci outputs export"`,
		"up":                           `unknown command "up"; see "scidex-oci --help"`,
		"inspect a":                    `unknown command "inspect"; type "scidex-oci show"`,
		"pull python":                  `unknown command "pull"; type "scidex-oci image pull"`,
		"exec a sh":                    `unknown command "exec"; type "scidex-oci run --shell ID"`,
		"version":                      `unknown command "version"; type "scidex-oci --version"`,
		"config list":                  `unknown command "list"; all settings are in the file that "scidex-oci config path" prints, and "scidex-oci config get KEY" prints one`,
		"config lst":                   `unknown command "lst"; config takes set, get, unset or path`,
		"run --mem 1G x":               `unknown flag "--mem"; did you mean "--memory"?`,
		"show a --format json":         `unknown flag "--format"; did you mean "--json"?`,
		"run —script plot.py":          `"—script" begins with a long dash; did you mean --script?`,
		"run –memory=2g x":             `"–memory=2g" begins with a long dash; did you mean --memory=2g?`,
		"run —memry 2g x":              `"—memry" begins with a long dash; did you mean "--memory"?`,
		"run --script a.py — x":        `"—" is a long dash; did you mean "--"?`,
		"show a —zzzzzzzz":             `"—zzzzzzzz" begins with a long dash; a flag begins with "--", and "--" goes before an argument that begins so`,
		"—version":                     `"—version" begins with a long dash; did you mean --version?`,
		"status":                       `unknown command "status"; type "scidex-oci ls" or "scidex-oci show ID"`,
		"plot.py --alpha":              `unknown command "plot.py"; type "scidex-oci run --script plot.py"`,
		"dir/plot.R":                   `unknown command "dir/plot.R"; type "scidex-oci run --script dir/plot.R"`,
		"build -t x .":                 `unknown command "build"; scripts/build-rootfs builds a root filesystem, "scidex-oci image import" and "scidex-oci image pull" get images`,
		"outputs expert":               `unknown command "expert"; did you mean "export"?`,
		"run --memry 2g x":             `unknown flag "--memry"; did you mean "--memory"?`,
		"run --memry=2g x":             `unknown flag "--memry"; did you mean "--memory"?`,
		"run --rot /r x":               `unknown flag "--rot"; did you mean "--root"?`,
		"run --network2 x":             `unknown flag "--network2"; did you mean "--network"?`,
		"show a --zzzzzzzzzzzz":        `unknown flag "--zzzzzzzzzzzz"; see "scidex-oci show --help"`,
		"report a --output d":          `unknown flag "--output"; did you mean "--out"?`,
		"run --output --script fit.py": `flag "--output" has no value before "--script"; give one, or leave the flag out (--output=--script if that is the value)`,
		"run --env -- x":               `flag "--env" has no value before "--"; give one, or leave the flag out (--env=-- if that is the value)`,
		"run --memory":                 `flag "--memory" needs a value`,
		"run --json=maybe x":           `flag "--json" takes true or false, not "maybe"`,
		"--bogus run":                  `unknown flag "--bogus"; see "scidex-oci --help"`,
		"--memory 1GiB run x":          `unknown flag "--memory" before a command; it belongs behind "run"`,
		"outputs --json ls a":          `unknown flag "--json" before a command; it belongs behind "outputs ls"`,
		"--memory 1GiB -- run":         `unknown flag "--memory"; see "scidex-oci --help"`,
	}
	for in, want := range tests {
		_, err := command.Arrange(newApp(wholeProgram()), strings.Fields(in))
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

// Each message names what to type instead.
func TestArrangeKnowsDockersFlags(t *testing.T) {
	tests := map[string]string{
		"run -v A:B x":                  "-v is docker's: bind a directory with --data DIR (read as /data) or a file with --input FILE (read below /inputs)",
		"run --volume=A:B x":            "--volume is docker's: bind a directory with --data DIR",
		"run --image python x":          "--image is docker's: name an image with --rootfs NAME;",
		"run --gpus all x":              "--gpus is docker's: an analysis gets no GPU",
		"run -it x":                     "-it is docker's: an analysis has no terminal; leave it out",
		"run -i x":                      "-i is docker's: an analysis has no terminal",
		"run -t x":                      "-t is docker's: an analysis has no terminal",
		"run --rm x":                    "--rm is docker's: a run leaves nothing but its result and outputs; leave it out",
		"run -e A=b x":                  "-e is docker's: set a variable with --env K=V",
		"run --name a x":                "--name is docker's: name the run with --id ID",
		"run -w /a x":                   "-w is docker's: an analysis starts in /work",
		"run -u 0 x":                    "-u is docker's: an analysis has a user id of its own",
		"run -p 80:80 x":                "-p is docker's: a run never gets a network; leave it out",
		"run -l a=b x":                  "-l is docker's: label the run with --label K=V",
		"run --pids-limit 9 x":          "--pids-limit is docker's: limit processes and threads with --pids N",
		"run --read-only x":             "--read-only is docker's: every run has a read-only root",
		"run --cap-drop ALL x":          "--cap-drop is docker's: an analysis gets no privileges",
		"run --pull always x":           `--pull is docker's: "scidex-oci image pull" gets an image`,
		"submit -v A:B x":               "-v is docker's",
		"batch -v A:B lines":            "-v is docker's",
		"slurm submit -p long":          `unknown flag "-p"`,
		"show -e a":                     `unknown flag "-e"`,
		"run --script fit.py -e A":      `; if it is for fit.py, put it after "--": scidex-oci run --script=fit.py -- -e A`,
		"run --script /a/fit.py --name": `; if it is for fit.py, put it after "--": scidex-oci run --script=/a/fit.py -- --name`,
		"batch --script s.py -v a":      "(read below /inputs)",
		"spec --volume a --script s.py": "; if it is for s.py",
	}
	for in, want := range tests {
		_, err := command.Arrange(newApp(wholeProgram()), strings.Fields(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

// Those of docker alone are not offered to the script.
func TestArrangeKnowsDockersOwnFlags(t *testing.T) {
	for _, flag := range []string{"-v A:B", "-it", "-ti", "--rm", "--gpus all"} {
		in := "run --script fit.py " + flag
		_, err := command.Arrange(newApp(wholeProgram()), strings.Fields(in))
		if err == nil || !strings.Contains(err.Error(), "is docker's: ") || strings.Contains(err.Error(), "fit.py") {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestArrangeKnowsAScriptsFlags(t *testing.T) {
	tests := map[string]string{
		"run --script fit.py --alpha 3":                      `unknown flag "--alpha"; if it is for fit.py, put it after "--": scidex-oci run --script=fit.py -- --alpha 3`,
		"run --alpha=3 --script fit.py":                      `unknown flag "--alpha"; if it is for fit.py, put it after "--": scidex-oci run --script=fit.py -- --alpha=3`,
		"run --script s.py --alpha 3 --memory 2g a --root r": `unknown flag "--alpha"; if it is for s.py, put it after "--": scidex-oci --root=r run --script=s.py --memory=2g -- --alpha 3 a`,
		"run --script s.py --a 3 -v b -- --memory":           `unknown flag "--a"; if it is for s.py, put it after "--": scidex-oci run --script=s.py -- --a 3 -v b --memory`,
		"run --script s.py --inputs 3":                       `unknown flag "--inputs"; did you mean "--input"? If it is for s.py, put it after "--": scidex-oci run --script=s.py -- --inputs 3`,
		"run --script s.py --alpha 3 --memory":               `unknown flag "--alpha"; if it is for s.py, put it after "--": scidex-oci run --script=s.py -- --alpha 3`,
		"run --alpha 3 -- x --script s.py":                   `unknown flag "--alpha"; see "scidex-oci run --help"`,
		"batch --script s.py --alpha 3":                      `unknown flag "--alpha"; see "scidex-oci batch --help"`,
		"run --alpha 3 here.py b":                            `unknown flag "--alpha"; if it is for here.py, type: scidex-oci run --script=here.py -- --alpha 3 b`,
		"run --memroy 2g here.py":                            `unknown flag "--memroy"; did you mean "--memory"? If it is for here.py, type: scidex-oci run --script=here.py -- --memroy 2g`,
		"run --alpha 3 gone.py":                              `unknown flag "--alpha"; see "scidex-oci run --help"`,
		"run --alpha 3 -- here.py":                           `unknown flag "--alpha"; see "scidex-oci run --help"`,
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("here.py", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for in, want := range tests {
		_, err := command.Arrange(newApp(wholeProgram()), strings.Fields(in))
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n%v, want\n%s", in, err, want)
		}
	}
}

func TestArrangeKnowsAScript(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"fit": "#!/bin/sh\n", "notes": "text\n", "empty": ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]string{
		"./fit": `unknown command "./fit"; type "scidex-oci run --script ./fit"`,
		"notes": `unknown command "notes"; see "scidex-oci --help"`,
		"empty": `unknown command "empty"; see "scidex-oci --help"`,
	}
	for in, want := range tests {
		if _, err := command.Arrange(newApp(wholeProgram()), []string{in}); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

func FuzzArrange(f *testing.F) {
	f.Add("run --memory 2g -- x --json")
	f.Add("outputs cat a -- -b")
	f.Fuzz(func(t *testing.T, in string) {
		args := strings.Split(in, " ")
		first, err := command.Arrange(newApp(wholeProgram()), args)
		if err != nil {
			return
		}
		second, err := command.Arrange(newApp(wholeProgram()), first[1:])
		if err != nil || !slices.Equal(first, second) {
			t.Errorf("%q became %q and that %q, %v", args, first, second, err)
		}
	})
}

func TestNoCommandIsNamedInit(t *testing.T) {
	for _, l := range leaves(newApp(wholeProgram()).Commands) {
		if slices.Contains(l.path, "init") {
			t.Errorf("%q: init is libcontainer's word", l.path)
		}
	}
}
