// Package suspend stops an analysis and its clock while its launcher is suspended (SIGTSTP).
package suspend
