package outputs

// Entry is the verdict on one entry of the working directory: an output when Rejected is empty.
type Entry struct {
	// Path is relative to the working directory; the exact bytes of the names, joined by '/'.
	Path []byte `json:"path"`
	// Size in bytes, of an output.
	Size int64 `json:"size,omitempty"`
	// SHA256 is the lower-case hexadecimal digest of an output.
	SHA256 string `json:"sha256,omitempty"`
	// MediaType by extension and leading bytes.
	MediaType string `json:"media_type,omitempty"`
	// Mode holds the permission bits of the file without set-id and sticky bits.
	Mode uint32 `json:"mode,omitempty"`
	// Ingest is the name of the file's copy in the ingest directory; empty in the catalog. Outputs that
	// are names of one inode share one copy.
	Ingest string `json:"ingest,omitempty"`
	// Rejected is why the entry is not an output.
	Rejected Reason `json:"rejected,omitempty"`
	// Detail explains a rejection, for instance "-> /etc/shadow". Raw bytes: escape before showing.
	Detail []byte `json:"detail,omitempty"`
	// Partial is true if the file may have been open for writing when the run was ended.
	Partial bool `json:"partial,omitempty"`
}
