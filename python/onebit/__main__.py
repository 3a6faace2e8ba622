"""`python -m onebit` runs the program."""
from onebit._program import main

main()
