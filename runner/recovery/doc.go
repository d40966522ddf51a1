// Package recovery removes what unfinished runs left, and commits what they could not: gc, the part of it that every writing
// command does, retention, and rm.
package recovery
