// Package image keeps images of root filesystems: it imports them, gives them names, and has each unpacked once for
// all runs that use it.
//
// The store is an OCI image layout (package layout) with one directory more, roots/. In it a directory for each
// distinct stack of layers, roots/<chain id>, holds the root filesystem, tree/, what every entry of it is, seal, and
// a few figures, root.json. Images are unpacked when they are imported, so that a hostile or broken one fails then.
//
// Locks tell what lives: that of a root is held by whoever uses it, that of roots/<chain id>.new by whoever makes
// it. What a kill leaves has a lock that nobody holds, and the next import, removal or gc removes it.
package image
