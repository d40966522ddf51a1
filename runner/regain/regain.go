// Package regain gives root of an ordinary container back what a launcher needs of root: it is imported for its effect
// before main, which is in C (regain.c), as a process with threads cannot change its user namespace.
package regain

import "C"
