;;; paceline.el --- Paceline: completions as you type, from a language server -*- lexical-binding: t; -*-

;; Author: The Paceline authors
;; License: Apache-2.0
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: convenience, languages

;;; Commentary:

;; Shows what `paceline lsp' suggests as ghost text behind point.  The connection is this file's own, so it works beside
;; Eglot, lsp-mode or neither.
;;
;;   (load (locate-user-emacs-file "paceline") t t)
;;   (paceline-setup)

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'project)
(require 'subr-x)
(require 'url-util)

(defgroup paceline nil
  "Completions as you type, from your own machine."
  :group 'convenience)

(defcustom paceline-command '("paceline" "lsp")
  "Program and arguments of the language server."
  :type '(repeat string))

(defcustom paceline-delay 0.04
  "Seconds after a key until the server is asked; it waits for your rhythm itself."
  :type 'number)

(defcustom paceline-settings nil
  "Settings for the server: a property list, like (:maxLines 5)."
  :type 'plist)

(defface paceline-ghost '((t :inherit shadow))
  "What is suggested and not typed.")

(defvar paceline--connection nil "The connection to the language server, shared by all buffers.")
(defvar paceline--encoding 'utf-16 "How columns are counted: utf-16 or utf-32.")
(defvar paceline--folders nil "Folders that the server knows as parts of the workspace.")

(defvar-local paceline--version 0)
(defvar-local paceline--pending nil "What the server has not been told: changes, the newest first, or `all'.")
(defvar-local paceline--before nil "The change that is about to be made: begin, length, and both as positions.")
(defvar-local paceline--timer nil)
(defvar-local paceline--asked 0 "Counts requests; the answer to an older one is thrown away.")
(defvar-local paceline--overlay nil "What shows the ghost text.")
(defvar-local paceline--item nil "The suggestion as the server sent it.")
(defvar-local paceline--rest "" "What of it has not been typed or accepted.")
(defvar-local paceline--taken 0 "Characters of it that have been.")
(defvar-local paceline--visible nil "Whether a suggestion is shown; its keys hold while it is.")
(defvar-local paceline--tick nil "The buffer's modification when the last command had ended.")

(defvar paceline-mode)

;;;; Positions

(defun paceline--width (text)
  "The number of units that TEXT has in the protocol's encoding."
  (if (eq paceline--encoding 'utf-32)
      (length text)
    (cl-loop for char across text sum (if (> char #xFFFF) 2 1))))

(defun paceline--position (&optional where)
  "The protocol's position of WHERE, or of point."
  (save-excursion
    (save-restriction
      (widen)
      (when where (goto-char where))
      (list :line (1- (line-number-at-pos))
            :character (paceline--width (buffer-substring-no-properties (line-beginning-position) (point)))))))

(defun paceline--point (position)
  "The place in the buffer of the protocol's POSITION."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (forward-line (plist-get position :line))
      (let ((left (plist-get position :character)))
        (while (and (> left 0) (not (eolp)))
          (setq left (- left (paceline--width (string (char-after)))))
          (forward-char)))
      (point))))

(defun paceline--uri ()
  "The URI of the buffer: a file's, or one of its own."
  (if buffer-file-name
      (concat "file://" (url-hexify-string (file-truename buffer-file-name) url-path-allowed-chars))
    (concat "untitled:" (url-hexify-string (buffer-name)))))

(defun paceline--language ()
  "The protocol's name of the buffer's language."
  (let ((name (string-remove-suffix "-ts" (string-remove-suffix "-mode" (symbol-name major-mode)))))
    (pcase name
      ("js" "javascript") ("js2" "javascript") ("c++" "cpp") ("sh" "shellscript") ("bash" "shellscript")
      ("emacs-lisp" "elisp") ("tsx" "typescriptreact") ("text" "plaintext") ("fundamental" "plaintext")
      (_ name))))

;;;; The connection

(defun paceline--connect ()
  "The connection, made if there is none; nil where the program is missing."
  (if (and paceline--connection (jsonrpc-running-p paceline--connection))
      paceline--connection
    (if (not (executable-find (car paceline-command)))
        (prog1 nil
          (global-paceline-mode -1)
          (display-warning
           'paceline
           (format "%s is not found. Where it is installed, run `paceline editor emacs --write' again, or %s"
                   (car paceline-command) "name its whole path in `paceline-command'.")))
      (setq paceline--folders nil
            paceline--connection
            (make-instance
             'jsonrpc-process-connection
             :name "paceline"
             :process (lambda ()
                        (make-process :name "paceline" :command paceline-command :connection-type 'pipe
                                      :coding 'utf-8-emacs-unix :noquery t
                                      :stderr (get-buffer-create "*paceline stderr*")))
             :request-dispatcher #'paceline--request
             :notification-dispatcher #'paceline--notification
             :on-shutdown (lambda (_) (setq paceline--connection nil))))
      (let ((answer (jsonrpc-request
                     paceline--connection :initialize
                     (list :processId (emacs-pid) :rootUri nil :workspaceFolders []
                           :clientInfo '(:name "Emacs") :initializationOptions (paceline--given)
                           :capabilities
                           '(:general (:positionEncodings ["utf-32" "utf-16"])
                             :textDocument (:inlineCompletion (:dynamicRegistration :json-false)
                                            :synchronization (:didSave t))
                             :workspace (:configuration t :workspaceFolders t :applyEdit t
                                         :workspaceEdit (:documentChanges t))
                             :window (:workDoneProgress t))))))
        (setq paceline--encoding
              (if (equal (plist-get (plist-get answer :capabilities) :positionEncoding) "utf-32") 'utf-32 'utf-16)))
      (jsonrpc-notify paceline--connection :initialized (make-hash-table))
      paceline--connection)))

(defun paceline--given ()
  "The settings, as an object even where there are none."
  (or paceline-settings (make-hash-table)))

(defun paceline--request (_connection method params)
  "Answer what the server asks: METHOD with PARAMS."
  (pcase method
    ('workspace/configuration
     (apply #'vector (mapcar (lambda (_) (paceline--given)) (plist-get params :items))))
    ('workspace/applyEdit (paceline--apply (plist-get params :edit)))
    ((or 'client/registerCapability 'client/unregisterCapability 'window/workDoneProgress/create) nil)
    ('window/showMessageRequest (message "%s" (plist-get params :message)) nil)
    (_ (jsonrpc-error :code -32601 :message "unknown"))))

(defun paceline--notification (_connection method params)
  "Show what the server tells: METHOD with PARAMS."
  (pcase method
    ('window/showMessage (message "%s" (plist-get params :message)))
    ('$/progress (paceline--progress (plist-get params :value)))
    ('window/logMessage
     (with-current-buffer (get-buffer-create "*paceline log*")
       (goto-char (point-max))
       (insert (plist-get params :message) "\n")))))

(defun paceline--progress (value)
  "Show how far an edit is: VALUE, as the protocol has it."
  (let ((part (or (plist-get value :percentage) 0))
        (what (or (plist-get value :message) (plist-get value :title) ""))
        (message-log-max nil)) ; each for a moment only
    (unless (active-minibuffer-window)
      (if (equal (plist-get value :kind) "end")
          (message nil)
        (message "Paceline: %s%s" (replace-regexp-in-string "[[:cntrl:]]" " " what)
                 (if (> part 0) (format " %d %%" part) ""))))))

(defun paceline--buffer (uri)
  "The buffer that the server knows as URI."
  (cl-find-if (lambda (each)
                (with-current-buffer each (and (bound-and-true-p paceline-mode) (equal (paceline--uri) uri))))
              (buffer-list)))

(defun paceline--current-p (document)
  "Whether DOCUMENT's edits are for the text that its buffer has."
  (let* ((text (plist-get document :textDocument))
         (buffer (paceline--buffer (plist-get text :uri)))
         (version (plist-get text :version)))
    (and buffer (with-current-buffer buffer
                  (and (null paceline--pending) (or (null version) (= version paceline--version)))))))

(defun paceline--proposed (edit)
  "An overlay that shows EDIT in the current buffer: what goes, and behind it what comes."
  (let* ((range (plist-get edit :range))
         (overlay (make-overlay (paceline--point (plist-get range :start)) (paceline--point (plist-get range :end)))))
    (overlay-put overlay 'face 'diff-removed)
    (overlay-put overlay 'after-string (propertize (plist-get edit :newText) 'face 'diff-added))
    overlay))

(defun paceline--agreed (documents)
  "Show the edits of DOCUMENTS where they will be, and ask whether to make them."
  (require 'diff-mode)
  (let (shown)
    (unwind-protect
        (progn
          (dolist (document documents)
            (with-current-buffer (paceline--buffer (plist-get (plist-get document :textDocument) :uri))
              (setq shown (append (mapcar #'paceline--proposed (plist-get document :edits)) shown))))
          (y-or-n-p "Paceline: make this change? "))
      (mapc #'delete-overlay shown))))

(defun paceline--apply (edit)
  "Make the changes of the workspace EDIT, once the person has seen them and agrees.
What the server is told of it."
  (let ((documents (append (plist-get edit :documentChanges) nil)))
    (cond
     ((not (cl-every #'paceline--current-p documents))
      '(:applied :json-false :failureReason "the text has changed meanwhile"))
     ((not (and documents (paceline--agreed documents))) '(:applied :json-false))
     ((not (cl-every #'paceline--current-p documents)) ; one can type elsewhere while it is asked
      '(:applied :json-false :failureReason "the text has changed meanwhile"))
     (t (mapc #'paceline--change documents) '(:applied t)))))

(defun paceline--change (document)
  "Make the edits of DOCUMENT, from the last one to the first."
  (with-current-buffer (paceline--buffer (plist-get (plist-get document :textDocument) :uri))
    (undo-boundary)
    (save-excursion
      (dolist (each (sort (append (plist-get document :edits) nil)
                          (lambda (a b) (> (paceline--point (plist-get (plist-get a :range) :start))
                                           (paceline--point (plist-get (plist-get b :range) :start))))))
        (let ((range (plist-get each :range)))
          (goto-char (paceline--point (plist-get range :start)))
          (delete-region (point) (paceline--point (plist-get range :end)))
          (insert (plist-get each :newText)))))))

;;;; Documents

(defun paceline--open ()
  "Tell the server of this buffer."
  (when-let ((connection (paceline--connect)))
    (when-let* ((project (and buffer-file-name (not (file-remote-p buffer-file-name)) (project-current)))
                (folder (directory-file-name (expand-file-name (project-root project)))))
      (unless (member folder paceline--folders)
        (push folder paceline--folders)
        (let ((added (list :uri (concat "file://" (url-hexify-string folder url-path-allowed-chars))
                           :name (file-name-nondirectory folder))))
          (jsonrpc-notify connection :workspace/didChangeWorkspaceFolders
                          (list :event (list :added (vector added) :removed []))))))
    (setq paceline--version 0 paceline--pending nil)
    (jsonrpc-notify connection :textDocument/didOpen
                    (list :textDocument (list :uri (paceline--uri) :languageId (paceline--language) :version 0
                                              :text (paceline--text))))))

(defun paceline--close ()
  "Tell the server that this buffer goes."
  (when (and paceline--connection (jsonrpc-running-p paceline--connection))
    (jsonrpc-notify paceline--connection :textDocument/didClose
                    (list :textDocument (list :uri (paceline--uri))))))

(defun paceline--before-change (begin end)
  "Remember where the change from BEGIN to END is."
  (setq paceline--before (list begin (- end begin) (paceline--position begin) (paceline--position end))))

(defun paceline--after-change (begin end length)
  "Remember what stands from BEGIN to END now, in place of LENGTH characters.
Some commands announce another change than they make: then all text is sent."
  (pcase-let ((`(,announced ,size ,from ,to) paceline--before))
    (cond
     ((eq paceline--pending 'all))
     ((and announced (= begin announced) (= length size))
      (push (list :range (list :start from :end to) :text (buffer-substring-no-properties begin end))
            paceline--pending))
     (t (setq paceline--pending 'all))))
  (setq paceline--before nil))

(defun paceline--text ()
  "The whole buffer's."
  (save-restriction
    (widen)
    (buffer-substring-no-properties (point-min) (point-max))))

(defun paceline--flush (connection)
  "Tell the server through CONNECTION what has changed."
  (when paceline--pending
    (cl-incf paceline--version)
    (jsonrpc-notify connection :textDocument/didChange
                    (list :textDocument (list :uri (paceline--uri) :version paceline--version)
                          :contentChanges (if (eq paceline--pending 'all)
                                              (vector (list :text (paceline--text)))
                                            (apply #'vector (nreverse paceline--pending)))))
    (setq paceline--pending nil)))

;;;; The ghost text

(defun paceline--erase ()
  "Take the suggestion away."
  (when paceline--overlay (delete-overlay paceline--overlay))
  (setq paceline--overlay nil paceline--item nil paceline--rest "" paceline--visible nil))

(defun paceline--draw ()
  "Show what is left of the suggestion behind point."
  (unless paceline--overlay
    (setq paceline--overlay (make-overlay (point) (point) nil t nil)))
  (move-overlay paceline--overlay (point) (point))
  (let ((text (propertize paceline--rest 'face 'paceline-ghost)))
    (put-text-property 0 1 'cursor t text)
    (overlay-put paceline--overlay 'after-string text))
  (setq paceline--visible t))

(defun paceline--follow ()
  "Keep the suggestion if what has been typed agrees with it."
  (when paceline--visible
    (let* ((start (overlay-start paceline--overlay))
           (typed (and (<= start (point)) (buffer-substring-no-properties start (point)))))
      (cond
       ((and typed (string-prefix-p typed paceline--rest) (< (length typed) (length paceline--rest))
             (equal (overlay-get paceline--overlay 'paceline-line)
                    (buffer-substring-no-properties (point) (line-end-position))))
        (setq paceline--rest (substring paceline--rest (length typed)))
        (cl-incf paceline--taken (length typed))
        (paceline--draw))
       (t (paceline--erase))))))

(defun paceline--show (item)
  "Show the server's ITEM behind point."
  (let* ((text (plist-get item :insertText))
         (range (plist-get item :range))
         (covered (and range (buffer-substring-no-properties
                              (min (point) (paceline--point (plist-get range :start))) (point)))))
    (paceline--erase)
    (when (and (stringp text) (string-prefix-p (or covered "") text)
               (> (length text) (length (or covered ""))))
      (setq paceline--item item
            paceline--taken (length (or covered ""))
            paceline--rest (substring text paceline--taken))
      (paceline--draw)
      (overlay-put paceline--overlay 'paceline-line (buffer-substring-no-properties (point) (line-end-position)))
      (jsonrpc-notify paceline--connection :textDocument/didShowCompletion (list :item item)))))

;;;; Asking

(defun paceline--cancel ()
  "Drop the request that is waited for."
  (when (timerp paceline--timer) (cancel-timer paceline--timer))
  (setq paceline--timer nil)
  (cl-incf paceline--asked))

(defun paceline--ask (buffer kind)
  "Ask for a suggestion at point of BUFFER; KIND is the protocol's trigger kind."
  (when (and (buffer-live-p buffer) (eq buffer (window-buffer)))
    (with-current-buffer buffer
      (paceline--cancel)
      (when-let ((connection (and paceline-mode (paceline--connect))))
        (paceline--flush connection)
        (let ((mine paceline--asked) (tick (buffer-chars-modified-tick)) (place (point)))
          (jsonrpc-async-request
           connection :textDocument/inlineCompletion
           (list :textDocument (list :uri (paceline--uri)) :position (paceline--position)
                 :context (list :triggerKind kind))
           :deferred nil
           :success-fn
           (lambda (result)
             (when (buffer-live-p buffer)
               (with-current-buffer buffer
                 (when (and (= mine paceline--asked) (= tick (buffer-chars-modified-tick)) (= place (point)))
                   (let ((items (append (if (vectorp result) result (plist-get result :items)) nil)))
                     (if items (paceline--show (car items)) (paceline--erase)))))))
           :error-fn #'ignore :timeout-fn #'ignore))))))

(defun paceline--after-command ()
  "Follow what has been typed, and ask again where something has changed."
  (let ((tick (buffer-chars-modified-tick)))
    (if (equal tick paceline--tick)
        (unless (and paceline--visible (= (point) (overlay-start paceline--overlay)))
          (paceline--cancel)
          (paceline--erase))
      (setq paceline--tick tick)
      (paceline--follow)
      (paceline--cancel)
      (setq paceline--timer (run-with-timer paceline-delay nil #'paceline--ask (current-buffer) 2)))))

;;;; What a person does

(defun paceline--take (length)
  "Insert the first LENGTH characters of the suggestion, and tell the server."
  (let* ((piece (substring paceline--rest 0 length))
         (whole (= length (length paceline--rest)))
         (item paceline--item)
         (taken (+ paceline--taken length))
         (command (plist-get item :command)))
    (undo-boundary)
    (when whole (paceline--erase))
    (insert piece)
    (unless whole (paceline--follow))
    (when paceline--connection
      (if (not whole)
          (jsonrpc-notify paceline--connection :textDocument/didPartiallyAcceptCompletion
                          (list :item item
                                :acceptedLength (paceline--width
                                                 (substring (plist-get item :insertText) 0 taken))))
        (paceline--flush paceline--connection)
        (when command
          (paceline--execute (plist-get command :command) (plist-get command :arguments)))))))

(defun paceline--execute (command arguments &optional success)
  "Have the server carry out COMMAND with ARGUMENTS; SUCCESS gets the result."
  (when-let ((connection (paceline--connect)))
    (jsonrpc-async-request connection :workspace/executeCommand
                           (list :command command :arguments (or arguments []))
                           :success-fn (or success #'ignore) :timeout 600
                           :error-fn (lambda (problem) (message "Paceline: %s" (plist-get problem :message))))))

(defun paceline-accept ()
  "Accept the suggestion."
  (interactive)
  (when paceline--visible (paceline--take (length paceline--rest))))

(defun paceline-accept-word ()
  "Accept the suggestion's next word."
  (interactive)
  (when paceline--visible
    (string-match "\\`[[:space:]\n]*\\(?:[[:alnum:]_]+\\|[^[:alnum:]_[:space:]\n]+\\)" paceline--rest)
    (paceline--take (max 1 (or (match-end 0) (length paceline--rest))))))

(defun paceline-accept-line ()
  "Accept the suggestion's next line."
  (interactive)
  (when paceline--visible
    (let ((end (string-match "[^\n]\n" paceline--rest)))
      (paceline--take (if end (1+ end) (length paceline--rest))))))

(defun paceline-dismiss ()
  "Take the suggestion away."
  (interactive)
  (paceline--cancel)
  (paceline--erase))

(defun paceline-suggest ()
  "Ask for a suggestion now."
  (interactive)
  (paceline--ask (current-buffer) 1))

(defun paceline-edit (begin end wish)
  "Have what stands from BEGIN to END changed as WISH says."
  (interactive (list (region-beginning) (region-end) (read-string "Edit with Paceline: ")))
  (when-let ((connection (paceline--connect)))
    (paceline--flush connection)
    (paceline--execute "paceline.edit"
                       (vector (paceline--uri)
                               (list :start (paceline--position begin) :end (paceline--position end))
                               paceline--version wish))))

(defun paceline-status ()
  "Show what the server does, or why it is silent."
  (interactive)
  (paceline--execute "paceline.status" nil (lambda (said) (message "%s" said))))

(defun paceline-restart-engine ()
  "Start the engine again."
  (interactive)
  (paceline--execute "paceline.restartEngine" nil))

(defvar paceline-visible-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "TAB") #'paceline-accept)
    (define-key map (kbd "<tab>") #'paceline-accept)
    (define-key map (kbd "M-<right>") #'paceline-accept-word)
    (define-key map (kbd "M-f") #'paceline-accept-word)
    (define-key map (kbd "M-<down>") #'paceline-accept-line)
    (define-key map (kbd "C-g") #'paceline-dismiss)
    map)
  "Keys while a suggestion is shown.")

(add-to-list 'minor-mode-map-alist (cons 'paceline--visible paceline-visible-map))

;;;###autoload
(define-minor-mode paceline-mode
  "Completions as you type."
  :lighter " Paceline"
  (cond
   (paceline-mode
    (add-hook 'before-change-functions #'paceline--before-change nil t)
    (add-hook 'after-change-functions #'paceline--after-change nil t)
    (add-hook 'post-command-hook #'paceline--after-command nil t)
    (add-hook 'kill-buffer-hook #'paceline--close nil t)
    (setq paceline--tick (buffer-chars-modified-tick))
    (paceline--open))
   (t
    (paceline-dismiss)
    (paceline--close)
    (remove-hook 'before-change-functions #'paceline--before-change t)
    (remove-hook 'after-change-functions #'paceline--after-change t)
    (remove-hook 'post-command-hook #'paceline--after-command t)
    (remove-hook 'kill-buffer-hook #'paceline--close t))))

(defun paceline--turn-on ()
  "Switch it on where code is written."
  (when (and (derived-mode-p 'prog-mode 'text-mode 'conf-mode) (not (minibufferp)) (not buffer-read-only))
    (paceline-mode 1)))

;;;###autoload
(define-globalized-minor-mode global-paceline-mode paceline-mode paceline--turn-on)

;;;###autoload
(defun paceline-setup ()
  "Switch Paceline on in all buffers with code or text."
  (global-paceline-mode 1))

(provide 'paceline)
;;; paceline.el ends here
