package result

// Hint is one sentence for a person: what probably caused an end, or surprises about its outputs, and what to type.
type Hint struct {
	// Code names the kind; package runner/hints has the codes. Readers ignore unknown ones.
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Explanation is the message with the hints behind it, one a line: what an error of this run says to a person.
func (r Result) Explanation() string {
	text := r.Message
	for _, h := range r.Hints {
		text += "\nhint: " + h.Message
	}
	return text
}
