package result

// Input is a part of the host that the analysis could read, and its digest.
type Input struct {
	Flag        string `json:"flag"`        // the flag, such as "--data"
	Source      string `json:"source"`      // the host's path, "sha256:HEX" for a blob, "host" for the host's programs
	Destination string `json:"destination"` // the path inside
	// Digested is what is digested: "content" or "listing" (fingerprint.Kind), or "none".
	Digested string  `json:"digested"`
	SHA256   *string `json:"sha256"`
	Files    int64   `json:"files"`
	Bytes    int64   `json:"bytes"`
	// Changed is true if something in it changed after the run had opened it: the analysis may have read either.
	Changed bool `json:"changed,omitempty"`
	// Message is why a requested digest is missing.
	Message string `json:"message,omitempty"`
}

// NoDigest is Digested of an input without a digest.
const NoDigest = "none"
