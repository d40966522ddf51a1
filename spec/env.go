package spec

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// homeDir is a tmpfs outside /work, for files that libraries write and that are no results.
const homeDir = "/home/analysis"

// MatplotlibDir is where matplotlib of a run has its configuration and its caches.
const MatplotlibDir = homeDir + "/.config/matplotlib"

// reservedEnv may not be set by an analysis: programs rely on them to find files.
var reservedEnv = [...]string{"SCIDEX_ANALYSIS_ID", "SCIDEX_DATA_DIR", "SCIDEX_DOCS_DIR", "SCIDEX_WORK_DIR"}

// withEnv makes the environment from scratch, without the caller's. scidex-oci's variables override the image's, except
// PATH; the user's variables and secrets override both, except the reserved ones.
func withEnv(a Analysis, place Placement, s *specs.Spec) error {
	env, err := Environment(a, place)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		s.Process.Env = append(s.Process.Env, name+"="+env[name])
	}
	return nil
}

// Environment is the analysis' environment, with the values of secrets. The error names a secret that execve(2) rejects.
func Environment(a Analysis, place Placement) (map[string]string, error) {
	env := imageEnv(place.ImageEnv)
	path, hasPath := env["PATH"]
	maps.Copy(env, baseEnv())
	if hasPath {
		env["PATH"] = path
	}
	if _, own := env["GIT_CONFIG_COUNT"]; !own { // the image's numbers would be mixed with those of scidex-oci
		maps.Copy(env, gitEnv())
	}
	maps.Copy(env, threadEnv(a.CPUs))
	if a.Requests() {
		maps.Copy(env, proxyEnv())
	}
	if a.Repeats() {
		maps.Copy(env, threadEnv(1))
		env["SCIDEX_RNG_SEED"] = "0"
	}
	runtimeEnv(env, place)
	if _, own := a.Env["MPLCONFIGDIR"]; own { // its matplotlibrc would come after that of scidex-oci
		delete(env, "MATPLOTLIBRC")
	}
	if _, own := a.Env["TRACEPARENT"]; !own && !a.Repeats() { // it is another one each time
		maps.Copy(env, place.Trace)
	}
	maps.Copy(env, a.Env)
	for _, name := range a.Secrets {
		value, ok := place.Secrets[name]
		if !ok {
			continue
		}
		if strings.ContainsRune(value, 0) || len(name)+1+len(value) > maxWord {
			return nil, fmt.Errorf("the value of secret %s has a NUL byte or more than the %d bytes the kernel takes", name, maxWord)
		}
		env[name] = value
	}
	maps.Copy(env, scidexEnv(a, place))
	return env, nil
}

// Repeats reports whether Deterministic is set.
func (a Analysis) Repeats() bool { return a.Deterministic != nil && *a.Deterministic }

// imageEnv returns the allowed variables of an image's configuration, "NAME=VALUE". A list that would exceed execve(2)'s
// limit with the rest is ignored.
func imageEnv(list []string) map[string]string {
	const most = 1 << 20 // bytes; Linux allows a quarter of the stack limit, 2 MiB, for arguments and environment
	env, size := map[string]string{}, 0
	for _, pair := range list {
		name, value, ok := strings.Cut(pair, "=")
		size += len(pair) + 1
		if ok && len(pair) <= maxWord && checkEnvName("env", name) == nil && checkText("env", value) == nil {
			env[name] = value
		}
	}
	if size > most {
		return map[string]string{}
	}
	return env
}

func baseEnv() map[string]string {
	return map[string]string{
		"PATH":    "/usr/local/bin:/usr/bin:/bin",
		"HOME":    homeDir,
		"USER":    "analysis",
		"LOGNAME": "analysis",
		"TMPDIR":  "/tmp",
		"TZ":      "UTC",
		"LANG":    "C.UTF-8",

		"PYTHONHASHSEED":    "0", // repeatable order of sets
		"PYTHONUNBUFFERED":  "1", // output before a kill is in the log
		"SOURCE_DATE_EPOCH": "315532800",

		"MATPLOTLIBRC":    "/etc/scidex-matplotlibrc", // of rootfs; a matplotlibrc in /work comes first
		"MPLCONFIGDIR":    MatplotlibDir,
		"NUMBA_CACHE_DIR": homeDir + "/.cache/numba",
		"XDG_CACHE_HOME":  homeDir + "/.cache",
		"XDG_CONFIG_HOME": homeDir + "/.config",
		"XDG_DATA_HOME":   homeDir + "/.local/share",
		"XDG_STATE_HOME":  homeDir + "/.local/state",
		"XDG_RUNTIME_DIR": homeDir + "/.run",
	}
}

// gitEnv lets git read repositories of other owners, as inputs are: otherwise it refuses them, and many programs then
// record no version without saying so. Variables reach every git, also one with another system configuration (conda) or
// with an image's own /etc/gitconfig, which must not be hidden. Git refuses in order to run no code of another user; a
// run confines such code.
func gitEnv() map[string]string {
	return map[string]string{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
}

// threadEnv keeps numeric libraries, and those that run tasks in parallel, from starting one thread or process per core
// of the host.
func threadEnv(cpus float64) map[string]string {
	threads := strconv.Itoa(max(1, int(math.Ceil(cpus))))
	return map[string]string{
		"OMP_NUM_THREADS":      threads,
		"OPENBLAS_NUM_THREADS": threads,
		"MKL_NUM_THREADS":      threads,
		"NUMEXPR_NUM_THREADS":  threads,
		"NUMBA_NUM_THREADS":    threads,
		"RAYON_NUM_THREADS":    threads,
		"POLARS_MAX_THREADS":   threads,
		"PYTHON_CPU_COUNT":     threads, // Python 3.13
		"LOKY_MAX_CPU_COUNT":   threads, // joblib
		"MC_CORES":             threads, // parallel of R
	}
}

// ProxyPort is the port on 127.0.0.1 inside at which the proxy of an analysis that may send requests listens.
const ProxyPort = 3128

// proxyEnv has the variables by which programs find a proxy. Some read the upper-case names, some the lower-case ones.
func proxyEnv() map[string]string {
	env := map[string]string{}
	proxy := "http://127.0.0.1:" + strconv.Itoa(ProxyPort)
	for name, value := range map[string]string{
		"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "ALL_PROXY": proxy, "NO_PROXY": "localhost,127.0.0.1,::1",
	} {
		env[name], env[strings.ToLower(name)] = value, value
	}
	return env
}

func scidexEnv(a Analysis, place Placement) map[string]string {
	env := map[string]string{"SCIDEX_ANALYSIS_ID": a.ID, "SCIDEX_WORK_DIR": a.StartDir()}
	if place.HasData {
		env["SCIDEX_DATA_DIR"] = "/data"
	}
	if place.HasDocs {
		env["SCIDEX_DOCS_DIR"] = "/docs"
	}
	return env
}
