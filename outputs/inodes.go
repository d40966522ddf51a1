package outputs

// inodes is a set of inodes. File systems number theirs densely, so 64 of them share an entry: a tree of a million files
// needs less than a megabyte instead of a hundred.
type inodes map[fileID]uint64

// add reports whether the inode is new.
func (s inodes) add(id fileID) bool {
	block, bit := fileID{id.dev, id.ino / 64}, uint64(1)<<(id.ino%64)
	before := s[block]
	s[block] = before | bit
	return before&bit == 0
}

func (s inodes) has(id fileID) bool {
	return s[fileID{id.dev, id.ino / 64}]&(1<<(id.ino%64)) != 0
}

// remove removes one that is in.
func (s inodes) remove(id fileID) {
	block := fileID{id.dev, id.ino / 64}
	if s[block] &^= 1 << (id.ino % 64); s[block] == 0 {
		delete(s, block)
	}
}
