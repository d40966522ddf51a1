package spec

import (
	"regexp"
	"sync"
)

// pattern compiles a regular expression when it is first used: this package is part of processes that
// start for every run and never look at a manifest.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
