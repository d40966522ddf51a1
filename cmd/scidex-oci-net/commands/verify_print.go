package commands

import (
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/statement/check"
)

// print shows what was verified, or the problems. With problems the exit code is 1.
func (o *verifyOptions) print(p *command.Program, name string, r *check.Report) error {
	var err error
	if o.json {
		err = screen.WriteJSON(p.Stdout, struct {
			Verified bool `json:"verified"`
			*check.Report
		}{r.Verified(), r})
	} else {
		_, err = fmt.Fprint(p.Stdout, strings.Join(verifiedLines(name, r), "\n")+"\n")
	}
	if err == nil && !r.Verified() {
		err = command.ExitStatus(1)
	}
	return err
}

// verifiedLines returns a line for each verified fact or, if the verification failed, for each problem.
func verifiedLines(name string, r *check.Report) (all []string) {
	if !r.Verified() {
		for _, p := range r.Problems {
			all = append(all, "not verified: "+screen.Escape(p.Path+": "+p.What))
		}
		return all
	}
	all = append(all, "verified: "+screen.Escape(name))
	add := func(label, text string) { all = append(all, fmt.Sprintf("%-11s%s", label, screen.Escape(text))) }
	run, outcome, isolation := partOf(r.Enforcement, "run"), partOf(r.Enforcement, "outcome"), partOf(r.Enforcement, "isolation")
	for _, key := range r.Keys {
		add("key", key)
	}
	add("run", fmt.Sprintf("%v@%v on %v, by scidex-oci %v", run["id"], run["attempt"], run["host"], run["tool_version"]))
	add("ended", fmt.Sprintf("%v (%v): %v", outcome["state"], outcome["reason"], outcome["message"]))
	add("files", fmt.Sprintf("%d as signed, %s of outputs", r.Files, format.Size(r.Bytes)))
	limits, _ := r.Enforcement["limits"].([]any)
	for _, one := range limits {
		if l, ok := one.(map[string]any); ok {
			add("limit", fmt.Sprintf("%v %v, held by %v", l["limit"], l["effective"], l["by"]))
		}
	}
	add("isolation", fmt.Sprintf("network %v, seccomp %v, ids %v, uid %v on the host", isolation["network"], isolation["seccomp"], isolation["ids"], isolation["uid_on_host"]))
	for _, name := range r.NotSigned {
		add("not signed", name)
	}
	for _, name := range r.LeftOut {
		add("left out", name)
	}
	return all
}

func partOf(all map[string]any, name string) map[string]any {
	one, _ := all[name].(map[string]any)
	return one
}
