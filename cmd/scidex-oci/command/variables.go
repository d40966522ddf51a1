package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/internal/suggest"
)

// variablePrefix is that of all variables of scidex-oci, and testVariable of those that tests give each other.
const (
	variablePrefix = "SCIDEX_OCI_"
	testVariable   = variablePrefix + "TEST_"
)

// Elsewhere are the variables, without their prefix, that are read by no flag of the commands of scidex-oci itself: those of
// flags of scidex-oci-net, which has more commands, of the docker front, of selftest, of the Python client, and of scripts and
// tests.
var Elsewhere = strings.Fields(`
	AGAINST ALL AT BATCH CLASS DRAIN EXACT FORMAT HTTP KEY KEY_FILE LABELS LEASE LISTEN METRICS NAME PLAIN_HTTP PRIORITY REQUIRE
	RESCUE_AFTER TAG TOTAL_CPUS TOTAL_MEMORY UNIQUE
	DOCKER_HOSTS SELFTEST_CANARY BIN ENGINE STAGING
	BROWSER NEXT NOTEBOOKS SCORE SCORE_SRT SEED SOAK TESTHOLE UPDATE_POSTURE`)

// warnOfVariables names, once, variables of the environment that are meant for scidex-oci and that nothing reads: a
// mistyped one would have no effect.
func (p *Program) warnOfVariables(app *cli.App, environment []string) {
	if p.warned || p.Options.LogLevel.Value == "error" {
		return
	}
	p.warned = true
	var known []string // made when it is needed
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, variablePrefix) || strings.HasPrefix(name, testVariable) {
			continue
		}
		if known == nil {
			known = append(Variables(app), Elsewhere...)
		}
		if word := strings.TrimPrefix(name, variablePrefix); !slices.Contains(known, word) {
			fmt.Fprintf(p.Stderr, "scidex-oci: nothing reads the variable %s%s\n", screen.Escape(name), suggest.DidYouMean(word, known, variablePrefix))
		}
	}
}

// Variables are those of all flags, without their prefix.
func Variables(app *cli.App) (all []string) {
	for _, flag := range options.Of(app.Flags, flagsBelow(app.Commands)) {
		all = append(all, strings.TrimPrefix(options.Variable(flag.Name), variablePrefix))
	}
	return all
}

func flagsBelow(commands []*cli.Command) (all []cli.Flag) {
	for _, command := range commands {
		all = append(append(all, command.Flags...), flagsBelow(command.Subcommands)...)
	}
	return all
}
