// Package request has the parameters of a run that are not of the analysis, and the errors of a refused request.
package request
