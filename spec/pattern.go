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

// word returns a function that reports whether a text of at most longest bytes matches an expression. A count in the
// expression instead would be compiled as that many copies, at the start of each run.
func word(longest int, expression string) func(string) bool {
	form := pattern(expression)
	return func(text string) bool { return len(text) <= longest && form().MatchString(text) }
}
