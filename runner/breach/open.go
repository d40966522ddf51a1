//go:build breach

package breach

// Open is true in a build with the tag.
const Open = true
