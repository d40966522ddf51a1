// Package request has the parameters of a run besides the analysis, and the errors of a refused request.
package request
