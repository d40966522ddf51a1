// Package image keeps images of root filesystems: it imports and names them, and unpacks each once for all runs that use
// it.
//
// The store is an OCI image layout (package layout) with one more directory, roots/. For each distinct stack of layers,
// roots/<chain id> holds the root filesystem, tree/, the record of all its entries, seal, and a few figures, root.json.
// Images are unpacked on import, so that a hostile or broken one fails then.
//
// Locks show what is in use: users of a root hold its lock, and the process that makes it that of roots/<chain id>.new.
// A killed process leaves a free lock, and the next import, removal or gc removes the leftovers.
package image
