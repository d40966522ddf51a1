package spec

import (
	"regexp"
	"sync"
)

// pattern compiles a regular expression on first use: processes that start for every run import this package and never
// read a manifest.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
