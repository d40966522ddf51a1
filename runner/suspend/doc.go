// Package suspend stops an analysis and its clock for as long as its launcher is suspended (SIGTSTP).
package suspend
