package result

// Input is something that the analysis could read of its host, and its digest.
type Input struct {
	Flag        string `json:"flag"`        // what asked for it, such as "--data"
	Source      string `json:"source"`      // the host's path, "sha256:HEX" for a blob, "host" for the host's programs
	Destination string `json:"destination"` // the path inside
	// Digested is what the digest is of: "content" or "listing" (fingerprint.Kind), or "none".
	Digested string  `json:"digested"`
	SHA256   *string `json:"sha256"`
	Files    int64   `json:"files"`
	Bytes    int64   `json:"bytes"`
	// Changed is true where something in it was changed after the run had opened it: the analysis may have read either.
	Changed bool `json:"changed,omitempty"`
	// Message is why there is no digest, where one was asked for.
	Message string `json:"message,omitempty"`
}

// NoDigest is what an input without a digest is digested by.
const NoDigest = "none"
