package options

import (
	"github.com/scidex-ai/scidex-oci/spec"
)

// WarmByFlag is the flag of commands that run analyses of several callers: the label by which these trust each other's modules.
func WarmByFlag(to *string) *Flag {
	return Parsed(to, "warm-by", "fork analyses that have the same value of this `LABEL` and run the same script from one interpreter, which trusts them all with its modules; without it none are forked but by serve --stdio, which has one caller; see docs/warm.md", labelName)
}

func labelName(text string) (string, error) { return text, spec.ValidateLabelName(text) }
