package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// wrapper is .command.run as Nextflow writes it (command-run.txt at 2aad02f, BashWrapperBuilder.groovy, DockerBuilder.groovy) for a process
// with a container, but for functions that nothing calls. WORK is the directory of the task.
const wrapper = `#!/bin/bash
set -e
set -u
NXF_DEBUG=${NXF_DEBUG:=0}; [[ $NXF_DEBUG > 1 ]] && set -x
NXF_ENTRY=${1:-nxf_main}

nxf_container_env() {
cat << EOF
export GREETING="hello"
EOF
}

on_exit() {
    local last_err=$?
    local exit_status=${nxf_main_ret:=0}
    [[ ${exit_status} -eq 0 && ${nxf_unstage_ret:=0} -ne 0 ]] && exit_status=${nxf_unstage_ret:=0}
    [[ ${exit_status} -eq 0 && ${last_err} -ne 0 ]] && exit_status=${last_err}
    printf -- $exit_status > WORK/.exitcode
    set +u
    docker rm $NXF_BOXID &>/dev/null || true
    exit $exit_status
}

on_term() {
    set +e
    docker stop $NXF_BOXID
}

nxf_launch() {
    LAUNCH
}

nxf_stage() {
    true
    STAGE
}

nxf_unstage_outputs() {
    true
}

nxf_unstage_controls() {
    true
}

nxf_unstage() {
    if [[ ${nxf_main_ret:=0} == 0 ]]; then
        (set -e -o pipefail; (nxf_unstage_outputs | tee -a .command.out) 3>&1 1>&2 2>&3 | tee -a .command.err) 3>&1 1>&2 2>&3
        nxf_unstage_ret=$?
    fi
    nxf_unstage_controls
}

nxf_main() {
    trap on_exit EXIT
    trap on_term TERM INT USR2
    trap '' USR1

    [[ "${NXF_CHDIR:-}" ]] && cd "$NXF_CHDIR"
    export NXF_BOXID="nxf-$(dd bs=18 count=1 if=/dev/urandom 2>/dev/null | base64 | tr +/ 0A | tr -d '\r\n')"
    NXF_SCRATCH=''
    [[ $NXF_DEBUG > 0 ]] && nxf_env
    touch WORK/.command.begin
    set +u
    set -u
    [[ $NXF_SCRATCH ]] && cd $NXF_SCRATCH
    export NXF_TASK_WORKDIR="$PWD"
    nxf_stage

    set +e
    (set -o pipefail; (nxf_launch | tee .command.out) 3>&1 1>&2 2>&3 | tee .command.err) 3>&1 1>&2 2>&3 &
    pid=$!
    wait $pid || nxf_main_ret=$?
    nxf_unstage
}

$NXF_ENTRY
`

// nextflow runs a task as Nextflow's local executor does.
func (h *harness) nextflow(launch, stage, script string) outcome {
	h.t.Helper()
	return h.finish(h.nextflowCommand(launch, stage, script))
}

// nextflowCommand is the process of a task. A task is at the same path outside and inside, where /tmp cannot be.
func (h *harness) nextflowCommand(launch, stage, script string) *exec.Cmd {
	h.t.Helper()
	if !theHost.root {
		h.t.Skip("it takes root to show a directory of the test at a path that a run may use")
	}
	const work = "/srv/work/1a/2b3c"
	run := strings.NewReplacer("LAUNCH", launch, "STAGE", stage).Replace(wrapper)
	h.write("srv/work/1a/2b3c/.command.run", strings.ReplaceAll(run, "WORK/", work+"/"), 0o644)
	h.write("srv/work/1a/2b3c/.command.sh", "#!/bin/bash -ue\n"+script, 0o644)
	h.write("srv/data/reads.txt", "reads\n", 0o644)
	if err := os.MkdirAll(h.path("bin"), 0o755); err != nil {
		h.t.Fatal(err)
	}
	front := h.dockerCommand()
	if err := os.Symlink(front.Path, h.path("bin/docker")); err != nil {
		h.t.Fatal(err)
	}
	cmd := h.command("unshare", "--mount", "sh", "-ec", `mount --bind "$1" /srv; cd "$2"; exec bash .command.run >.command.log 2>&1`, "sh", h.path("srv"), work)
	cmd.Env = append(front.Env, "PATH="+h.path("bin")+":"+os.Getenv("PATH"))
	return cmd
}

// TestDockerNextflow: tasks that stage no link run, and Nextflow finds a task's files, exit code and output.
func TestDockerNextflow(t *testing.T) {
	const (
		copies = "cp -fRL /srv/data/reads.txt reads.txt"
		volume = `-v /srv/work/1a/2b3c:/srv/work/1a/2b3c -w "$NXF_TASK_WORKDIR" `
		name   = "--name $NXF_BOXID " + tool
		plain  = " /bin/bash -ue /srv/work/1a/2b3c/.command.sh"
		env    = ` /bin/bash -c "eval $(nxf_container_env); /bin/bash -ue /srv/work/1a/2b3c/.command.sh"`
		entry  = ` -c "eval $(nxf_container_env); /bin/bash -ue /srv/work/1a/2b3c/.command.sh"`
	)
	for title, launch := range map[string]string{
		"as it is":              `docker run -i -e "NXF_TASK_WORKDIR" ` + volume + name + plain,
		"with an environment":   `docker run -i -e "NXF_TASK_WORKDIR" ` + volume + name + env,
		"with its entry point":  `docker run -i -e "NXF_TASK_WORKDIR" ` + volume + "--entrypoint /bin/bash " + name + entry,
		"with limits and temp":  `docker run -i --cpus 2 --memory 64m -e "NXF_TASK_WORKDIR" -e "NXF_DEBUG=${NXF_DEBUG:=0}" -v $(mktemp -d -p /srv):/tmp ` + volume + name + plain,
		"with a read-only tree": `docker run -i -e "NXF_TASK_WORKDIR" -v /srv/data:/srv/data:ro ` + volume + name + plain,
		"as its caller":         `docker run -i -e "NXF_TASK_WORKDIR" ` + volume + "-u $(id -u):$(id -g) " + name + plain,
	} {
		t.Run(title, func(t *testing.T) {
			h := newHarness(t)
			out := h.nextflow(launch, copies, `echo "${GREETING-} out"; echo err >&2; cat reads.txt >made.txt; mkdir sub; echo $NXF_TASK_WORKDIR >sub/where`+"\n")
			task := h.path("srv/work/1a/2b3c")
			if out.code != 0 {
				t.Errorf("%+v\n%s", out, readFile(t, filepath.Join(task, ".command.log")))
			}
			greeting := ""
			if strings.Contains(launch, "nxf_container_env") {
				greeting = "hello"
			}
			for name, want := range map[string]string{
				".command.out": greeting + " out\n", ".command.err": "err\n", ".exitcode": "0", "made.txt": "reads\n", "sub/where": "/srv/work/1a/2b3c\n",
			} {
				if got := readFile(t, filepath.Join(task, name)); got != want {
					t.Errorf("%s: %q, not %q", name, got, want)
				}
			}
			log := readFile(t, filepath.Join(task, ".command.log"))
			if strings.Count(log, greeting+" out\n") != 1 || strings.Count(log, "err\n") != 1 {
				t.Errorf("the log is %q", log)
			}
		})
	}
}

// TestDockerNextflowFails: a task's own exit code is Nextflow's, with its output.
func TestDockerNextflowFails(t *testing.T) {
	h := newHarness(t)
	out := h.nextflow(`docker run -i -e "NXF_TASK_WORKDIR" -v /srv/work/1a/2b3c:/srv/work/1a/2b3c -w "$NXF_TASK_WORKDIR" --name $NXF_BOXID `+tool+` /bin/bash -ue /srv/work/1a/2b3c/.command.sh`,
		"", "echo out; echo why >&2; exit 7\n")
	if out.code != 7 || readFile(t, h.path("srv/work/1a/2b3c/.exitcode")) != "7" || readFile(t, h.path("srv/work/1a/2b3c/.command.err")) != "why\n" {
		t.Errorf("%+v\n%s", out, readFile(t, h.path("srv/work/1a/2b3c/.command.log")))
	}
}

// TestDockerNextflowStopped: Nextflow ends a task by a signal to its wrapper, which calls docker stop.
func TestDockerNextflowStopped(t *testing.T) {
	h := newHarness(t)
	task := h.path("srv/work/1a/2b3c")
	cmd := h.nextflowCommand(`docker run -i -e "NXF_TASK_WORKDIR" -v /srv/work/1a/2b3c:/srv/work/1a/2b3c -w "$NXF_TASK_WORKDIR" --name $NXF_BOXID `+tool+` /bin/bash -ue /srv/work/1a/2b3c/.command.sh`,
		"", "echo x >made.txt; echo ready; exec sleep 1000\n")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := func() []string {
		if out, _ := os.ReadFile(filepath.Join(task, ".command.out")); string(out) == "ready\n" {
			return nil
		}
		return []string{"no word of the task"}
	}
	if missing := eventually(said); missing != nil {
		t.Error(missing)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	put := func() []string { // the wrapper does not wait for docker run
		if _, err := os.Stat(filepath.Join(task, "made.txt")); err != nil {
			return []string{err.Error()}
		}
		return nil
	}
	if missing := eventually(put); missing != nil {
		t.Error(missing)
	}
	if code := readFile(t, filepath.Join(task, ".exitcode")); code != "143" || cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("%q, %v", code, cmd.ProcessState)
	}
	r := h.show(strings.TrimSpace(h.mustRun("ls", "--quiet").stdout))
	r.expect(t, "canceled", "stopped", 143)
}

// TestDockerNextflowRefused: options of Nextflow without the settings of docs/nextflow.md are refused by name, in the task's log.
func TestDockerNextflowRefused(t *testing.T) {
	const end = ` -w "$NXF_TASK_WORKDIR" --name $NXF_BOXID ` + tool + " /bin/bash -ue /srv/work/1a/2b3c/.command.sh"
	for want, c := range map[string]struct{ launch, stage string }{
		"reads.txt\" is no file and no directory": {"-v /srv/work/1a/2b3c:/srv/work/1a/2b3c" + end, "ln -sfn /srv/data/reads.txt reads.txt"},
		"--cpu-shares is not supported":           {"--cpu-shares 2048 -v /srv/work/1a/2b3c:/srv/work/1a/2b3c" + end, ""},
		"/srv/work/1a/2b3c":                       {"-v /srv:/srv" + end, ""}, // the one tree that has inputs and task
	} {
		h := newHarness(t)
		out := h.nextflow(`docker run -i -e "NXF_TASK_WORKDIR" `+c.launch, c.stage, "echo out >made.txt\n")
		log := readFile(t, h.path("srv/work/1a/2b3c/.command.log"))
		if out.code != 125 || !strings.Contains(log, want) || strings.Count(log, "\n") != 1 {
			t.Errorf("%s: %+v, log %q", c.launch, out, log)
		}
	}
}
