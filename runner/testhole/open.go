//go:build testhole

package testhole

// Open is true in a build with the tag.
const Open = true
