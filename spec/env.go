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

// homeDir is a tmpfs outside /work, for what libraries write beside their results.
const homeDir = "/home/analysis"

// reservedEnv are the variables that no analysis may set: programs rely on them to find their way.
var reservedEnv = [...]string{"SCIDEX_ANALYSIS_ID", "SCIDEX_DATA_DIR", "SCIDEX_DOCS_DIR", "SCIDEX_WORK_DIR"}

// withEnv makes the environment from scratch: nothing of the caller's is inherited. The user's
// variables and secrets override ours but the reserved ones.
func withEnv(a Analysis, place Placement, s *specs.Spec) error {
	env := baseEnv()
	maps.Copy(env, threadEnv(a.CPUs))
	runtimeEnv(env, place)
	maps.Copy(env, a.Env)
	for _, name := range a.Secrets {
		value, ok := place.Secrets[name]
		if !ok {
			continue
		}
		if strings.ContainsRune(value, 0) || len(name)+1+len(value) > maxWord {
			return fmt.Errorf("the value of secret %s has a NUL byte or more than the %d bytes the kernel takes", name, maxWord)
		}
		env[name] = value
	}
	maps.Copy(env, scidexEnv(a, place))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		s.Process.Env = append(s.Process.Env, name+"="+env[name])
	}
	return nil
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

		"PYTHONHASHSEED":    "0", // the order of sets repeats
		"PYTHONUNBUFFERED":  "1", // what was printed before a kill is in the log
		"SOURCE_DATE_EPOCH": "315532800",

		"MPLCONFIGDIR":    homeDir + "/.config/matplotlib",
		"NUMBA_CACHE_DIR": homeDir + "/.cache/numba",
		"XDG_CACHE_HOME":  homeDir + "/.cache",
		"XDG_CONFIG_HOME": homeDir + "/.config",
		"XDG_DATA_HOME":   homeDir + "/.local/share",
		"XDG_STATE_HOME":  homeDir + "/.local/state",
		"XDG_RUNTIME_DIR": homeDir + "/.run",
	}
}

// threadEnv keeps numeric libraries from starting a thread for every core of the host.
func threadEnv(cpus float64) map[string]string {
	threads := strconv.Itoa(max(1, int(math.Ceil(cpus))))
	return map[string]string{
		"OMP_NUM_THREADS":      threads,
		"OPENBLAS_NUM_THREADS": threads,
		"MKL_NUM_THREADS":      threads,
		"NUMEXPR_NUM_THREADS":  threads,
		"PYTHON_CPU_COUNT":     threads,
	}
}

func scidexEnv(a Analysis, place Placement) map[string]string {
	env := map[string]string{"SCIDEX_ANALYSIS_ID": a.ID, "SCIDEX_WORK_DIR": workDir}
	if place.HasData {
		env["SCIDEX_DATA_DIR"] = "/data"
	}
	if place.HasDocs {
		env["SCIDEX_DOCS_DIR"] = "/docs"
	}
	return env
}
