package app

import (
	"regexp"
	"sync"
)

// pattern compiles a regular expression on first use: this program starts several times for every run.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
