// Command empty does nothing: the start of other programs is compared with its start.
package main

func main() {}
