package result

// Hint is one sentence for a person: what probably caused an end, or surprises about its outputs, and what to type.
type Hint struct {
	// Code names the kind; package runner/hints has the codes. Readers ignore unknown ones.
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Explanation is the message of the run followed by its hints, one a line: the text of an error for a person.
func (r Result) Explanation() string {
	text := r.Message
	for _, h := range r.Hints {
		text += "\nhint: " + h.Message
	}
	return text
}
