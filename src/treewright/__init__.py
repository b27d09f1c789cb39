"""treewright: decision trees and tree ensembles on tables as people have them."""
