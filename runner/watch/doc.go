// Package watch shows runs to other processes: it finds them by what a person types, lists them, shows their results and growing logs,
// waits for their ends and stops them. Each run is shown as it is now: one whose launcher was killed, or whose result waits to be
// committed, is not what its row in the catalog says. A caller need not know how a launcher is found, and whether it lives.
package watch
